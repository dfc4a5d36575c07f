package blindindex

import "strings"

// nearestStep guesses the step that a misspelt name means; "" if none is near.
func nearestStep(name string) string {
	bare, _, _ := strings.Cut(strings.ToLower(name), "(")
	bare, _, _ = strings.Cut(bare, ".") // a name with its version, as a normaliser id has it
	switch strings.NewReplacer("-", "", "_", "", " ", "").Replace(bare) {
	case "lower", "lowercase", "downcase", "tolower", "foldcase", "fold":
		return "casefold"
	case "turkish", "casefoldturkish", "casefoldtr", "lowertr":
		return "casefold-tr"
	case "strip", "trimspace":
		return "trim"
	case "numeric", "number", "numbers":
		return "digits"
	case "none", "identity":
		return rawStep
	}
	best, bestDistance := "", 3 // two slips of the finger at most
	for _, candidate := range stepNames() {
		// In a short word two slips leave too little to recognise.
		if d := editDistance(bare, candidate); d < bestDistance && d <= len(candidate)/2 {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// editDistance is the Damerau-Levenshtein distance with adjacent transpositions, in bytes. It is asked of step names in a schema alone; a
// name far longer than any step is no misspelling of one and is not compared.
func editDistance(a, b string) int {
	const longest = 64
	if len(a) > longest {
		return longest
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			substitute := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				substitute++
			}
			rows[i][j] = min(substitute, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
