package validate

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Format is a form in which findings are written.
type Format string

// The formats.
const (
	Text   Format = "text"   // FILE:LINE:COL: location: message, for people
	JSON   Format = "json"   // one object a line
	GitHub Format = "github" // workflow commands: annotations on a pull request
	JUnit  Format = "junit"  // XML that most CI servers show as failed tests
	SARIF  Format = "sarif"  // SARIF 2.1.0, which code scanning reads
)

// FormatError says that a format is none of these.
type FormatError struct{ Format Format }

func (e *FormatError) Error() string {
	return fmt.Sprintf("findings are not written as %q", string(e.Format))
}

// Hint says what to do next.
func (e *FormatError) Hint() string { return "use text, json, github, junit or sarif" }

// Reporter writes findings. Text, JSON and GitHub are written one by one, JUnit and SARIF as one document when the reporter is closed.
type Reporter struct {
	w        io.Writer
	one      func(io.Writer, Finding) error
	document func(io.Writer, []Finding) error
	kept     []Finding
}

// NewReporter returns a reporter for a format, or a *FormatError. It must be closed.
func NewReporter(w io.Writer, format Format) (*Reporter, error) {
	r := &Reporter{w: w}
	switch format {
	case Text:
		r.one = writeText
	case JSON:
		r.one = writeJSON
	case GitHub:
		r.one = writeGitHub
	case JUnit:
		r.document = writeJUnit
	case SARIF:
		r.document = writeSARIF
	default:
		return nil, &FormatError{Format: format}
	}
	return r, nil
}

// Report writes one finding, or keeps it for the document.
func (r *Reporter) Report(f Finding) error {
	if r.document != nil {
		r.kept = append(r.kept, f)
		return nil
	}
	return r.one(r.w, f)
}

// Close writes the document of a format that has one, also when nothing was found.
func (r *Reporter) Close() error {
	if r.document == nil {
		return nil
	}
	return r.document(r.w, r.kept)
}

func (f Finding) position() string {
	if f.Line == 0 {
		return f.File
	}
	return f.File + ":" + strconv.Itoa(f.Line) + ":" + strconv.Itoa(f.Column)
}

// writeText names the severity only of a warning: an editor that follows FILE:LINE:COL: takes the rest as an error.
func writeText(w io.Writer, f Finding) error {
	var b strings.Builder
	if at := f.position(); at != "" {
		b.WriteString(oneLine(at) + ": ")
	}
	if f.Severity == Warning {
		b.WriteString("warning: ")
	}
	if f.Location != "" {
		b.WriteString(oneLine(f.Location) + ": ")
	}
	b.WriteString(oneLine(f.Message) + " [" + f.Rule + "]\n")
	if f.Hint != "" {
		b.WriteString("  hint: " + oneLine(f.Hint) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// oneLine escapes control characters, which the name of a file or of a schema's member may hold, so that a finding stays one line and a
// terminal obeys nothing in it.
func oneLine(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x2028 || r == 0x2029 }) {
		return s
	}
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}

func writeJSON(w io.Writer, f Finding) error {
	line, err := json.Marshal(struct {
		File     string   `json:"file"`
		Line     int      `json:"line"`
		Column   int      `json:"column"`
		Location string   `json:"location"`
		Rule     string   `json:"rule"`
		Severity Severity `json:"severity"`
		Message  string   `json:"message"`
		Hint     string   `json:"hint,omitempty"`
	}(f))
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// githubData and githubProperty escape as GitHub's workflow commands want it: a message would end at a line feed, a property at a comma.
func githubData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func githubProperty(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}

func writeGitHub(w io.Writer, f Finding) error {
	properties := []string{"title=" + githubProperty(f.Rule)}
	if f.File != "" && f.File != "-" {
		properties = append(properties, "file="+githubProperty(f.File))
		if f.Line > 0 {
			properties = append(properties, "line="+strconv.Itoa(f.Line), "col="+strconv.Itoa(f.Column))
		}
	}
	message := f.Message
	if f.Location != "" {
		message = f.Location + ": " + message
	}
	if f.Hint != "" {
		message += "\nhint: " + f.Hint
	}
	_, err := fmt.Fprintf(w, "::%s %s::%s\n", f.Severity, strings.Join(properties, ","), githubData(message))
	return err
}
