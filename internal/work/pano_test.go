package work

import (
	"strings"
	"testing"

	"github.com/witan-run/witan/internal/kit/fault"
)

func TestPathsOfDocuments(t *testing.T) {
	t.Parallel()
	for path, ok := range map[string]bool{
		"customers.md": true, "sales/2026/März notes.md": true, "a.b/c.md": true, "日本.md": true,
		"": false, "customers": false, "a.txt": false, "/a.md": false, "a//b.md": false, "../a.md": false, "a/../b.md": false, "./a.md": false,
		".md": false, "a/.git/b.md": false, "a\\b.md": false, "a\x00.md": false, "a\nb.md": false, "con.md": false, "x/NUL/a.md": false,
		"a\u202e.md": false, "a\xff.md": false, "c:a.md": false, "a /b.md": false, "a./b.md": false,
		strings.Repeat("a/", 8) + "b.md": false, strings.Repeat("a", 200) + ".md": false,
	} {
		if err := CheckPath(path); (err == nil) != ok {
			t.Errorf("CheckPath(%q) = %v, want ok %t", path, err, ok)
		}
	}
}

func TestAConflictSaysWhoAndWhenButNotWhat(t *testing.T) {
	t.Parallel()
	err := error(&ConflictError{Current: Document{Revision: 3, Text: "their secret", Digest: digest("their secret"), By: "person:p2"}, Seen: 2, Yours: "my secret"})
	if !fault.Is(err, fault.Conflict) {
		t.Fatalf("kind %s", fault.KindOf(err))
	}
	msg, field, _ := fault.Public(err)
	if strings.Contains(msg, "secret") || !strings.Contains(msg, "revision 3") || !strings.Contains(msg, "person:p2") || field != "revision" {
		t.Fatalf("message %q on %q", msg, field)
	}
}

func TestAMatchShowsItsLine(t *testing.T) {
	t.Parallel()
	m, ok := match(Document{Path: "a/Orsted.md", Text: "# İ\nnothing\n  pays in MARCH, march\n"}, []string{"march", "orsted", "april"})
	if !ok || m.Words != 2 || m.Times != 3 || m.Excerpt != "pays in MARCH, march" || m.Text != "" {
		t.Fatalf("%+v", m)
	}
	if _, ok := match(Document{Path: "a.md", Text: "x"}, []string{"y"}); ok {
		t.Fatal("found what is not there")
	}
}

func FuzzPathsStayNames(f *testing.F) {
	for _, s := range []string{"a.md", "../a.md", "a/b.md", "a//.md", "a\\..\\b.md"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if CheckPath(path) != nil {
			return
		}
		for _, n := range strings.Split(path, "/") {
			if n == "" || n == "." || n == ".." || strings.ContainsAny(n, "\\\x00:") {
				t.Fatalf("%q passes", path)
			}
		}
	})
}
