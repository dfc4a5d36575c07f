package validate

import (
	"encoding/json"
	"io"
	"net/url"
	"path/filepath"
	"slices"
)

// The part of SARIF 2.1.0 that findings need.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string     `json:"id"`
		ShortDescription *sarifText `json:"shortDescription,omitempty"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     Severity        `json:"level"` // SARIF's words are ours
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifLocation struct {
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	// sarifRegion has no column: SARIF counts in UTF-16 units or code points, a finding in bytes, and the line's text is not at hand.
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
	sarifLogical struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
	}
)

func writeSARIF(w io.Writer, findings []Finding) error {
	driver := sarifDriver{Name: "fieldcrypt", InformationURI: "https://github.com/fieldcrypt/fieldcrypt", Rules: []sarifRule{}}
	results := []sarifResult{}
	for _, f := range findings {
		rule := slices.IndexFunc(driver.Rules, func(r sarifRule) bool { return r.ID == f.Rule })
		if rule < 0 {
			rule = len(driver.Rules)
			driver.Rules = append(driver.Rules, describeRule(f.Rule))
		}
		result := sarifResult{RuleID: f.Rule, RuleIndex: rule, Level: f.Severity, Message: sarifText{f.Message}}
		if f.Hint != "" {
			result.Message.Text += "\nhint: " + f.Hint
		}
		if f.File != "" {
			result.Locations = []sarifLocation{sarifPlace(f)}
		}
		results = append(results, result)
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(sarifLog{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0",
		Runs: []sarifRun{{Tool: sarifTool{driver}, Results: results}},
	})
}

func describeRule(id string) sarifRule {
	for _, r := range Rules() {
		if r.ID == id {
			return sarifRule{ID: id, ShortDescription: &sarifText{r.Text}}
		}
	}
	return sarifRule{ID: id}
}

func sarifPlace(f Finding) sarifLocation {
	uri := url.URL{Path: filepath.ToSlash(f.File)}
	if filepath.IsAbs(f.File) {
		uri.Scheme = "file"
	}
	place := sarifLocation{Physical: sarifPhysical{Artifact: sarifArtifact{uri.String()}}}
	if f.Line > 0 {
		place.Physical.Region = &sarifRegion{StartLine: f.Line}
	}
	if f.Location != "" {
		place.Logical = []sarifLogical{{FullyQualifiedName: f.Location}}
	}
	return place
}
