package manifest

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
)

func folder(text string, more ...string) fstest.MapFS {
	fs := fstest.MapFS{"SKILL.md": {Data: []byte(text)}}
	for i := 0; i+1 < len(more); i += 2 {
		fs[more[i]] = &fstest.MapFile{Data: []byte(more[i+1])}
	}
	return fs
}

const skillMD = "---\nname: pdf-forms\ndescription: Fills PDF forms. Use it when a form is attached.\nlicense: MIT\nmetadata:\n  version: \"2.1\"\nallowed-tools: Bash(pdftk:*) Read\n---\n# Forms\n\nRead references/FORMS.md first.\n"

func TestAnInstructionIsLoaded(t *testing.T) {
	t.Parallel()
	label := event.NewLabel(event.House, event.AccountWide())
	e, err := LoadInstruction("pdf-forms", folder(skillMD, "references/FORMS.md", "text", ".git/HEAD", "x"), label)
	if err != nil {
		t.Fatal(err)
	}
	m := e.Manifest
	if m.Name != "pdf-forms" || m.Kind != Instruction || m.Version != "2.1" || m.Class != ClassRead || m.Access != Read || m.Risk != RiskNone ||
		len(m.Permissions) != 0 || string(e.Content) != "# Forms\n\nRead references/FORMS.md first." || e.Label.String() != "h:a" || m.OutputLabel != "house" {
		t.Errorf("%+v %q", m, e.Content)
	}
	// A changed file beside the text is a changed skill.
	other, err := LoadInstruction("pdf-forms", folder(skillMD, "references/FORMS.md", "text!"), label)
	if err != nil || other.Hash == e.Hash {
		t.Errorf("hash %s, %v", other.Hash, err)
	}
	// No version: the content names it. Windows line ends are line ends.
	plain := strings.ReplaceAll(strings.Replace(skillMD, "metadata:\n  version: \"2.1\"\n", "", 1), "\n", "\r\n")
	p, err := LoadInstruction("pdf-forms", folder(plain), label)
	if err != nil || len(p.Manifest.Version) != 12 {
		t.Errorf("version %q, %v", p.Manifest.Version, err)
	}
}

func TestBadInstructionFolders(t *testing.T) {
	t.Parallel()
	label := event.NewLabel(event.Outside, event.Public())
	for name, tt := range map[string]struct {
		fs   fstest.MapFS
		kind fault.Kind
		has  string
	}{
		"no SKILL.md":         {fstest.MapFS{"README.md": {}}, fault.NotFound, "no SKILL.md"},
		"no front matter":     {folder("# Forms\n"), fault.Invalid, "line 1"},
		"no end":              {folder("---\nname: pdf-forms\n"), fault.Invalid, "no closing"},
		"an unknown key":      {folder(strings.Replace(skillMD, "license:", "licence:", 1)), fault.Invalid, "line 4"},
		"another folder":      {folder(strings.Replace(skillMD, "pdf-forms", "pdf", 1)), fault.Invalid, "folder"},
		"upper case":          {folder(strings.Replace(skillMD, "pdf-forms", "PDF", 1)), fault.Invalid, "name"},
		"two hyphens":         {folder(strings.Replace(skillMD, "pdf-forms", "pdf--forms", 1)), fault.Invalid, "name"},
		"a hyphen at the end": {folder(strings.Replace(skillMD, "pdf-forms", "pdf-", 1)), fault.Invalid, "name"},
		"no description":      {folder("---\nname: pdf-forms\ndescription: \"  \"\n---\n"), fault.Invalid, "description"},
		"a long description":  {folder("---\nname: pdf-forms\ndescription: " + strings.Repeat("x", 1025) + "\n---\n"), fault.Invalid, "description"},
		"long compatibility":  {folder("---\nname: pdf-forms\ndescription: d\ncompatibility: " + strings.Repeat("x", 501) + "\n---\n"), fault.Invalid, "compatibility"},
		"a list as name":      {folder("---\nname: [a]\ndescription: d\n---\n"), fault.Invalid, "line 2"},
		"not text":            {folder("---\nname: pdf-forms\x00\n---\n"), fault.Invalid, "UTF-8"},
		"a large file":        {folder(skillMD, "big.md", strings.Repeat("x", maxSkillFile+1)), fault.Limited, "big.md"},
		"a large text":        {folder(skillMD + strings.Repeat("x", maxSkillText)), fault.Limited, "at most"},
	} {
		_, err := LoadInstruction("pdf-forms", tt.fs, label)
		if !fault.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.has) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
