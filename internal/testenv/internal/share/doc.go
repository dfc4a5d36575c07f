// Package share lets all test processes of a checkout use one server of a kind,
// which is started by the first and ended when none has used it for a while.
//
// Three locks of the operating system, which a process loses however it ends:
//
//	KIND.users   each test process holds it shared for as long as it lives;
//	             the supervisor ends the server only while it holds it alone
//	KIND.start   one process at a time looks for a supervisor and starts one
//	KIND.alive   the supervisor holds it for as long as it lives
//
// KIND.json tells how to reach the server. It counts only while KIND.alive is
// held, and whoever reads it holds KIND.users, so the server stays.
//
// A supervisor is a process of its own: the first test process ends before the
// last one. The servers end with their supervisor, even if that is killed.
package share
