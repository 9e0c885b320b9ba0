package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"witan": main})
}

// TestEndToEnd runs the scripts of testdata/e2e against the real program.
func TestEndToEnd(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                filepath.Join("..", "..", "testdata", "e2e"),
		RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"waitfor": waitFor,
			"stop":    stop,
		},
	})
}

// waitFor waits until a file is there.
func waitFor(ts *testscript.TestScript, _ bool, args []string) {
	for range 400 {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
		<-time.After(25 * time.Millisecond)
	}
	ts.Fatalf("%s did not come", args[0])
}

// stop ends a background command politely and waits for it.
func stop(ts *testscript.TestScript, _ bool, args []string) {
	for _, c := range ts.BackgroundCmds() {
		_ = c.Process.Signal(os.Interrupt)
	}
	for range 400 {
		if _, err := os.Stat(ts.MkAbs("data/witan.sock")); err != nil {
			break
		}
		<-time.After(25 * time.Millisecond)
	}
	ts.Check(nil)
}
