package server

import "time"

// lockEvery is how often a lock that another process holds is tried.
const lockEvery = 50 * time.Millisecond
