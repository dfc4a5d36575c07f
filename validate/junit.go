package validate

import (
	"encoding/xml"
	"io"
)

type junitSuites struct {
	XMLName xml.Name   `xml:"testsuites"`
	Suite   junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitFailure `xml:"failure,omitempty"`
}

type junitFailure struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// writeJUnit writes each finding as a failed test. If nothing was found there is one test that passed: CI servers take a file without tests
// for one that went missing.
func writeJUnit(w io.Writer, findings []Finding) error {
	suite := junitSuite{Name: "fieldcrypt", Tests: len(findings), Failures: len(findings)}
	for _, f := range findings {
		text := f.position() + ": " + f.Message
		if f.Hint != "" {
			text += "\nhint: " + f.Hint
		}
		suite.Cases = append(suite.Cases, junitCase{
			Class: f.File, Name: f.Rule + " " + f.position() + " " + f.Location,
			Failure: &junitFailure{Type: string(f.Severity), Message: f.Message, Text: text},
		})
	}
	if len(findings) == 0 {
		suite.Tests = 1
		suite.Cases = []junitCase{{Class: "fieldcrypt", Name: "nothing found"}}
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(junitSuites{Suite: suite}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
