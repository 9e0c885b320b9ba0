package script

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"

	"github.com/goccy/go-yaml"

	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/llm"
)

// Script is a parsed script. It does not change.
type Script struct {
	name  string
	lines []line
}

// line is one answer and when to give it.
type line struct {
	user, system, result *regexp.Regexp
	step                 *int
	isError              *bool
	tool, offers, output string

	say     template
	calls   []callTemplate
	stop    llm.StopReason
	delayMS int64
	fail    *failYAML
}

type callTemplate struct {
	tool string
	args any // maps, slices, template for strings, other scalars
}

type fileYAML struct {
	Name  string     `yaml:"name"`
	Lines []lineYAML `yaml:"lines"`
}

type lineYAML struct {
	When struct {
		User   string `yaml:"user"`
		System string `yaml:"system"`
		Step   *int   `yaml:"step"`
		Tool   string `yaml:"tool"`
		Result string `yaml:"result"`
		Error  *bool  `yaml:"error"`
		Offers string `yaml:"offers"`
		Output string `yaml:"output"`
	} `yaml:"when"`
	Say     string         `yaml:"say"`
	Call    []callYAML     `yaml:"call"`
	Stop    llm.StopReason `yaml:"stop"`
	DelayMS int64          `yaml:"delay_ms"`
	Fail    *failYAML      `yaml:"fail"`
}

type callYAML struct {
	Tool string `yaml:"tool"`
	Args any    `yaml:"args"`
}

type failYAML struct {
	Reason       llm.Reason `yaml:"reason"`
	Message      string     `yaml:"message"`
	RetryAfterMS int64      `yaml:"retry_after_ms"`
}

// stops and reasons are what a script may name.
func stops() []llm.StopReason {
	return []llm.StopReason{"", llm.StopEnd, llm.StopToolUse, llm.StopMaxTokens, llm.StopRefusal, llm.StopSequence, llm.StopContext, llm.StopOther}
}

func reasons() []llm.Reason {
	return []llm.Reason{
		llm.Unreachable, llm.Slow, llm.Stalled, llm.TooLong, llm.Truncated, llm.Malformed, llm.TooLarge,
		llm.RateLimited, llm.Overloaded, llm.ServerError, llm.NoQuota, llm.BadKey, llm.NoModel, llm.BadRequest,
	}
}

// Parse reads a script. Its errors are Invalid and name the line.
func Parse(text []byte) (*Script, error) {
	var f fileYAML
	d := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict(), yaml.DisallowUnknownField())
	if err := d.Decode(&f); err != nil && !errors.Is(err, io.EOF) {
		return nil, fault.New(fault.Invalid, "read the script: %s", yaml.FormatError(err, false, false)).On("script")
	}
	if f.Name == "" {
		f.Name = "script"
	}
	s := &Script{name: f.Name}
	if len(f.Lines) == 0 {
		return nil, fault.New(fault.Invalid, "a script needs lines").On("lines")
	}
	for i, l := range f.Lines {
		parsed, err := l.parse()
		if err != nil {
			return nil, fault.New(fault.Invalid, "%w", err).On(fmt.Sprintf("lines[%d]", i))
		}
		s.lines = append(s.lines, parsed)
	}
	return s, nil
}

func (l lineYAML) parse() (line, error) {
	out := line{
		step: l.When.Step, isError: l.When.Error, tool: l.When.Tool, offers: l.When.Offers, output: l.When.Output,
		stop: l.Stop, delayMS: l.DelayMS, fail: l.Fail,
	}
	for _, e := range []struct {
		to   **regexp.Regexp
		expr string
	}{{&out.user, l.When.User}, {&out.system, l.When.System}, {&out.result, l.When.Result}} {
		if e.expr == "" {
			continue
		}
		re, err := regexp.Compile(e.expr)
		if err != nil {
			return out, err
		}
		*e.to = re
	}
	switch {
	case l.Fail != nil && (l.Say != "" || len(l.Call) > 0):
		return out, fault.New(fault.Invalid, "a line fails or answers, not both")
	case l.Fail != nil && !slices.Contains(reasons(), l.Fail.Reason):
		return out, fault.New(fault.Invalid, "fail.reason: want one of %v", reasons())
	case l.Fail == nil && l.Say == "" && len(l.Call) == 0 && l.Stop == "":
		return out, fault.New(fault.Invalid, "a line needs say, call, stop or fail")
	case !slices.Contains(stops(), l.Stop):
		return out, fault.New(fault.Invalid, "stop: want one of %q", stops())
	case l.DelayMS < 0 || l.Fail != nil && l.Fail.RetryAfterMS < 0:
		return out, fault.New(fault.Invalid, "a delay cannot be negative")
	}
	var err error
	if out.say, err = parseTemplate(l.Say, out.user, out.result); err != nil {
		return out, fmt.Errorf("say: %w", err)
	}
	for i, c := range l.Call {
		if c.Tool == "" {
			return out, fault.New(fault.Invalid, "call[%d] names no tool", i)
		}
		args, err := parseArgs(c.Args, out.user, out.result)
		if err != nil {
			return out, fmt.Errorf("call[%d].args: %w", i, err)
		}
		out.calls = append(out.calls, callTemplate{tool: c.Tool, args: args})
	}
	return out, nil
}
