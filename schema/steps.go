package schema

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The normaliser steps of a blind index, as far as loading checks them: package blindindex computes them, and a test of package envelope
// holds both lists against each other.

const rawStep = "raw"

// plainSteps are the steps without parameters.
func plainSteps() []string {
	return []string{"trim", "nfkc", "casefold", "casefold-tr", "digits", "alnum", "last4", "email"}
}

// phoneRegions are the regions whose dialling rules are known, by ISO 3166-1 alpha-2 code.
const phoneRegions = "AC AD AE AF AG AI AL AM AO AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GT GU GW GY HK HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TA TC TD TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG US UY UZ VA VC VE VG VI VN VU WF WS XK YE YT ZA ZM ZW"

// Bounds of argon2id(t,m): what one value may cost whoever seals it, some seconds at most, and no less than makes it slow at all.
const (
	maxArgonPasses    = 16
	minArgonKiB       = 1 << 10
	maxArgonKiB       = 256 << 10
	maxArgonPassesKiB = 1 << 20
)

var (
	phoneStep = regexp.MustCompile(`^phone\(([A-Z]{2})\)$`)
	argonStep = regexp.MustCompile(`^argon2id\(([1-9][0-9]{0,9}),([1-9][0-9]{0,9})\)$`)
)

func isSlowStep(step string) bool { return strings.HasPrefix(step, "argon2id(") }

// stepFault says what is wrong with a step at its place in a list; "" if nothing.
func stepFault(step string, position, count int) (message, hint string) {
	all := "steps: raw, " + strings.Join(plainSteps(), ", ") + ", phone(REGION), argon2id(PASSES,KIB)"
	name, _, _ := strings.Cut(step, "(")
	switch {
	case step == rawStep && count > 1:
		return "raw stands alone", "leave raw out beside other steps"
	case step == rawStep || slices.Contains(plainSteps(), step):
		return "", ""
	case name == "phone":
		m := phoneStep.FindStringSubmatch(step)
		if m == nil || !slices.Contains(strings.Fields(phoneRegions), m[1]) {
			return fmt.Sprintf("the normaliser step %q names no region whose dialling rules are known", step), "name the default region by its ISO 3166-1 code in capitals, such as phone(TR)"
		}
		return "", ""
	case name == "argon2id":
		return argonFault(step, position, count)
	}
	return fmt.Sprintf("unknown normaliser step %q", step), all
}

func argonFault(step string, position, count int) (message, hint string) {
	if m := argonStep.FindStringSubmatch(step); m != nil {
		passes, _ := strconv.Atoi(m[1])
		kib, _ := strconv.Atoi(m[2])
		if passes <= maxArgonPasses && minArgonKiB <= kib && kib <= maxArgonKiB && passes*kib <= maxArgonPassesKiB {
			if position != count-1 {
				return "argon2id must be the last step", "move it to the end"
			}
			return "", ""
		}
	}
	return fmt.Sprintf("the normaliser step %q lies outside its bounds", step),
		fmt.Sprintf("argon2id(PASSES,KIB): 1 to %d passes, %d to %d KiB, together at most %d, such as argon2id(2,19456)", maxArgonPasses, minArgonKiB, maxArgonKiB, maxArgonPassesKiB)
}

// steps reads a list of normaliser steps; raw is no step.
func (r *wordReader) steps(v *value, p string) (steps []string, ok bool) {
	if v.kind != '[' || !isText(v) {
		r.refuse(v.start, p, "word-type", "normalize must be an array of step names", "see docs/vocabulary.md")
		return nil, false
	}
	ok = true
	for i, item := range v.items {
		if message, hint := stepFault(item.str, i, len(v.items)); message != "" {
			r.refuse(item.start, child(p, strconv.Itoa(i)), "index-normalize", message, hint)
			ok = false
		} else if item.str != rawStep {
			steps = append(steps, item.str)
		}
	}
	return steps, ok
}
