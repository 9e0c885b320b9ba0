package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// shellCmd prints a completion script.
type shellCmd struct {
	Shell string `arg:"" help:"bash, zsh or fish." enum:"bash,zsh,fish"`
}

func (c *shellCmd) Help() string {
	return `  source <(witan completion bash)
  witan completion zsh  > "${fpath[1]}/_witan"
  witan completion fish > ~/.config/fish/completions/witan.fish`
}

// Run implements the command.
func (c *shellCmd) Run(s *session) error {
	tree := map[string][]string{}
	walkCommands(s.model.Model.Node, "", tree)
	if c.Shell == "fish" {
		return fishScript(s.out, tree)
	}
	return bashScript(s.out, tree, c.Shell == "zsh")
}

// walkCommands lists, per command path, what may follow it.
func walkCommands(n *kong.Node, path string, tree map[string][]string) {
	for _, f := range n.AllFlags(true) {
		for _, one := range f {
			tree[path] = append(tree[path], "--"+one.Name)
		}
	}
	for _, child := range n.Children {
		if child.Hidden || child.Type != kong.CommandNode {
			continue
		}
		tree[path] = append(tree[path], child.Name)
		walkCommands(child, strings.TrimSpace(path+" "+child.Name), tree)
	}
}

func bashScript(w io.Writer, tree map[string][]string, zsh bool) error {
	var b strings.Builder
	if zsh {
		b.WriteString("#compdef witan\nautoload -U +X bashcompinit && bashcompinit\n")
	}
	b.WriteString("_witan() {\n  local path= w\n  for w in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n    case \"$w\" in -*) ;; *) path=\"${path:+$path }$w\" ;; esac\n  done\n  local words=\n  case \"$path\" in\n")
	for _, p := range sortedKeys(tree) {
		fmt.Fprintf(&b, "    %q) words=%q ;;\n", p, strings.Join(tree[p], " "))
	}
	b.WriteString("  esac\n  COMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n}\ncomplete -o default -F _witan witan\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func fishScript(w io.Writer, tree map[string][]string) error {
	var b strings.Builder
	for _, p := range sortedKeys(tree) {
		cond := "__fish_use_subcommand"
		if p != "" {
			parts := strings.Fields(p)
			cond = "__fish_seen_subcommand_from " + parts[len(parts)-1]
		}
		for _, word := range tree[p] {
			if flag, ok := strings.CutPrefix(word, "--"); ok {
				fmt.Fprintf(&b, "complete -c witan -n %q -l %s\n", cond, flag)
			} else {
				fmt.Fprintf(&b, "complete -c witan -n %q -f -a %s\n", cond, word)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
