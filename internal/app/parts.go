package app

import (
	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/bus"
	"github.com/witan-run/witan/internal/channel"
	"github.com/witan-run/witan/internal/channel/httpin"
	"github.com/witan-run/witan/internal/dispatch"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
	"github.com/witan-run/witan/internal/llm"
	"github.com/witan-run/witan/internal/memory"
	"github.com/witan-run/witan/internal/policy"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/skill/builtin"
	"github.com/witan-run/witan/internal/skill/manifest"
	"github.com/witan-run/witan/internal/store"
	"github.com/witan-run/witan/internal/store/agentdb"
	"github.com/witan-run/witan/internal/store/blob"
	"github.com/witan-run/witan/internal/store/channeldb"
	"github.com/witan-run/witan/internal/store/dispatchdb"
	"github.com/witan-run/witan/internal/store/identitydb"
	"github.com/witan-run/witan/internal/store/llmdb"
	"github.com/witan-run/witan/internal/store/memorydb"
	"github.com/witan-run/witan/internal/store/policydb"
	"github.com/witan-run/witan/internal/store/skilldb"
	"github.com/witan-run/witan/internal/store/workdb"
	"github.com/witan-run/witan/internal/work"
)

// parts are Witan's components, built and connected. Nothing runs yet.
type parts struct {
	db      *store.DB
	keyring *secret.Keyring
	account id.ID // the account of this installation
	origins origins

	identity  *identity.Service
	policy    *policy.Service
	models    *llm.Service
	prompts   *llm.Prompts
	skills    *skill.Service
	registry  *skill.Registry
	newer     []manifest.Entry // built-in skills of this version that no person accepted yet
	agents    *agent.Service
	pano      *work.Pano
	memory    *memory.Service
	reminders *work.Reminders
	work      *work.Service
	files     *builtin.Files
	hub       *channel.Hub
	intake    *channel.Intake
	http      map[string]*httpin.Channel
	dispatch  *dispatch.Dispatcher
	blobs     *blob.Folder
	disk      *disk

	table  *bus.Table
	router *bus.Router
	pool   *bus.Pool
	timers *bus.Timers
	tails  *bus.Tails

	rows rows
}

// rows are the stores of the domains.
type rows struct {
	identity *identitydb.Store
	policy   *policydb.Store
	llm      llmdb.Store
	skill    *skilldb.Store
	agent    *agentdb.Store
	dispatch *dispatchdb.Store
	channel  *channeldb.Store
	memory   *memorydb.Store
	work     *workdb.Store
}

func types(t ...event.Type) []event.Type { return t }
