package fault

// Edge is what a kind becomes at the three edges of Witan.
type Edge struct {
	HTTP int // status code (RFC 9110)
	MCP  int // JSON-RPC error code; 0 means a tool result with isError
	Exit int // exit code of the command line
}

// edges is the one table from kinds to the outside (architecture §9).
var edges = [...]Edge{
	Internal:     {500, -32603, 1},
	Invalid:      {400, -32602, 2},
	NotFound:     {404, -32602, 3},
	Conflict:     {409, 0, 4},
	Denied:       {403, 0, 5},
	Unauthorized: {401, -32001, 6},
	Limited:      {429, 0, 7},
	Unavailable:  {503, 0, 8},
	Timeout:      {504, 0, 9},
	Cancelled:    {499, 0, 10},
	Halted:       {423, 0, 11},
	Stale:        {412, 0, 12},
	Unknown:      {502, 0, 13},
	Corrupt:      {500, -32603, 14},
}

// EdgeOf returns what k becomes outside.
func EdgeOf(k Kind) Edge {
	if int(k) < len(edges) {
		return edges[k]
	}
	return edges[Internal]
}

// ParseKind is the inverse of Kind.String; an unknown word is Internal.
func ParseKind(s string) Kind {
	for i, n := range names {
		if n == s {
			return Kind(i)
		}
	}
	return Internal
}
