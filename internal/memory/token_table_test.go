package memory

import (
	"flag"
	"fmt"
	"os"
	"sort"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// update writes words.txt from the Unicode tables of the running Go. The file
// changes what old memories rank like: raise Ranking with it.
var update = flag.Bool("update", false, "write words.txt") //nolint:gochecknoglobals // a flag

// extras are letters that have no decomposition but are typed as others.
func extras() map[rune]string {
	return map[rune]string{'ß': "ss", 'ẞ': "ss", 'æ': "ae", 'Æ': "ae", 'œ': "oe", 'Œ': "oe", 'ø': "o", 'Ø': "o", 'đ': "d", 'Đ': "d",
		'ł': "l", 'Ł': "l", 'þ': "th", 'Þ': "th", 'ð': "d", 'Ð': "d", 'ı': "i", 'ħ': "h", 'Ħ': "h", 'ς': "σ"}
}

func classOf(r rune) byte {
	switch {
	case r == 0xad || r >= 0x200b && r <= 0x200d || r == 0x2060 || r == 0xfeff || r >= 0xe0000 && r <= 0xe007f || unicode.Is(unicode.Variation_Selector, r):
		return 'i'
	case !unicode.In(r, unicode.L, unicode.M, unicode.N):
		return 0
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar),
		r == 0x30fc, r == 0xff70, r == 0x3099, r == 0x309a, r == 0xff9e, r == 0xff9f: // the long mark and the voice marks
		return 'c'
	}
	return 'w'
}

func foldOf(r rune) string {
	if s, ok := extras()[r]; ok {
		return s
	}
	var bare strings.Builder
	for _, x := range norm.NFD.String(norm.NFKC.String(string(r))) {
		if x < 0x300 || x > 0x36f {
			bare.WriteRune(x)
		}
	}
	var out strings.Builder
	for _, x := range norm.NFC.String(bare.String()) {
		x = unicode.ToLower(x)
		if s, ok := extras()[x]; ok {
			out.WriteString(s)
		} else if c := classOf(x); c == 'w' || c == 'c' {
			out.WriteRune(x)
		}
	}
	return out.String()
}

func table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# What words are made of (w letters, c characters indexed in pairs, i ignored) and what they fold to\n# (f one, d a run shifted by a distance). Made from Unicode %s by token_table_test.go -update.\n", unicode.Version)
	var from rune
	var have byte
	for r := rune(0); r <= 0xe0fff; r++ {
		if c := classOf(r); c != have {
			if have != 0 {
				fmt.Fprintf(&b, "%c %x %x\n", have, from, r-1)
			}
			from, have = r, c
		}
	}
	type run struct {
		from, to rune
		by       rune
	}
	var runs []run
	var lines []string
	for r := rune(0); r <= 0xe0fff; r++ {
		if c := classOf(r); c == 0 || c == 'i' {
			continue
		}
		f := foldOf(r)
		if f == string(r) {
			continue
		}
		one := []rune(f)
		if len(one) != 1 {
			lines = append(lines, strings.TrimRight(fmt.Sprintf("f %x %s", r, f), " "))
			continue
		}
		if n := len(runs) - 1; n >= 0 && runs[n].to == r-1 && runs[n].by == one[0]-r {
			runs[n].to = r
			continue
		}
		runs = append(runs, run{r, r, one[0] - r})
	}
	for _, x := range runs {
		if x.from == x.to {
			lines = append(lines, fmt.Sprintf("f %x %c", x.from, x.from+x.by))
		} else {
			lines = append(lines, fmt.Sprintf("d %x %x %d", x.from, x.to, x.by))
		}
	}
	sort.Strings(lines)
	return b.String() + strings.Join(lines, "\n") + "\n"
}

// TestWordTableIsWhatItSays makes the table again. Under another Unicode than
// the one it was made from there is nothing to compare with.
func TestWordTableIsWhatItSays(t *testing.T) {
	if *update {
		if err := os.WriteFile("words.txt", []byte(table()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !strings.Contains(wordTable, "Unicode "+unicode.Version+" ") {
		t.Skip("words.txt was made from another Unicode than " + unicode.Version)
	}
	if table() != wordTable {
		t.Fatal("words.txt is not what token_table_test.go makes")
	}
}
