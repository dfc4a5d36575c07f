package terminal

import "fmt"

// Plural writes a number with its noun: 1 row, 2 rows.
func Plural[N ~int | ~int64](n N, one, many string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, one)
	}
	return fmt.Sprintf("%d %s", n, many)
}
