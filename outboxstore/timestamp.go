package outboxstore

import (
	"errors"
	"fmt"
	"time"
)

// timeLayout is RFC 3339 in UTC with microseconds: of one width, so that times compare as text.
const timeLayout = "2006-01-02T15:04:05.000000Z"

var errYear = errors.New("its time is outside the years 1 to 9999")

// FormatTime writes a time as dialects store or send it.
func FormatTime(t time.Time) (string, error) {
	t = t.UTC()
	if t.Year() < 1 || t.Year() > 9999 {
		return "", errYear
	}
	return t.Format(timeLayout), nil
}

// ParseTime reads what FormatTime or the database's clock wrote. Its error names no value.
func ParseTime(text string) (time.Time, error) {
	t, err := time.Parse(timeLayout, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("not a time of the form %s", timeLayout)
	}
	return t, nil
}
