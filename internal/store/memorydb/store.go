package memorydb

import (
	_ "embed"
	"strings"

	"github.com/witan-run/witan/internal/memory"
	"github.com/witan-run/witan/internal/store"
)

//go:embed queries.sql
var sqlText string

const rowColumns = `id, kind, epistemic, scope, sensitivity, label, subject_id, title, body, details, tokens, occurred_at, valid_from,
  valid_to, importance, salience, valence, arousal, source, credibility, confidence, use_count, first_use, last_uses, retrieval_count,
  last_retrieved, simhash, root_group_id, origin_id, written_by, created_at, status`

var q = store.MustQueries(strings.ReplaceAll(sqlText, "COLS", rowColumns))

// Store implements memory.Store.
type Store struct{}

var _ memory.Store = (*Store)(nil)

// New returns a store.
func New() *Store { return &Store{} }
