// Command gen writes the console's embedded browser files from src to dist. Run it by
// go generate in internal/console/assets; the result is committed.
package main

import (
	"log/slog"
	"os"
	"path/filepath"

	"github.com/witan-run/witan/internal/console/assets/bundle"
)

func main() {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	files, err := bundle.Build("src")
	if err != nil {
		log.Error("bundle console assets", "err", err)
		os.Exit(1)
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join("dist", name), data, 0o644); err != nil {
			log.Error("write console asset", "name", name, "err", err)
			os.Exit(1)
		}
	}
}
