package ui

import "strings"

// localPath keeps doors inside the house: a path on this origin, or "#". View models
// are filled from records, and a record may hold an address that somebody else chose.
func localPath(href string) string {
	if !strings.HasPrefix(href, "/") || strings.HasPrefix(href, "//") || strings.HasPrefix(href, `/\`) {
		return "#"
	}
	if strings.ContainsAny(href, "\r\n\t") {
		return "#"
	}
	return href
}

// keyNames splits "J K" into the keys that a hint prints.
func keyNames(keys string) []string { return strings.Fields(keys) }
