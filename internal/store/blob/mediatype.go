package blob

import "mime"

// SafeMediaType returns the type under which content may be served, and whether
// a browser may show it in place; everything else is a download. Only types
// that a browser does not run are served as declared; HTML, SVG, XML and script
// become bytes of no type, and a document like PDF is always a download.
// The server must also send X-Content-Type-Options: nosniff.
func SafeMediaType(declared string) (mediaType string, inline bool) {
	const unknown = "application/octet-stream"
	t, _, err := mime.ParseMediaType(declared)
	if err != nil {
		return unknown, false
	}
	switch t {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp",
		"audio/mpeg", "audio/ogg", "audio/wav", "audio/webm", "audio/aac", "audio/flac", "audio/mp4",
		"video/mp4", "video/webm", "video/ogg":
		return t, true
	case "text/plain":
		return "text/plain; charset=utf-8", true
	case "text/csv", "text/markdown", "text/calendar":
		return "text/plain; charset=utf-8", false
	case "application/pdf", "application/zip", "application/gzip", "application/json", "application/msword",
		"application/vnd.openxmlformats-officedocument.wordprocessingml.document",
		"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
		"application/vnd.openxmlformats-officedocument.presentationml.presentation":
		return t, false
	}
	return unknown, false
}
