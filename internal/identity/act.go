package identity

// Act names one thing that somebody can do. Every HTTP route, command and tool
// names exactly one; a test by reflection holds them to the table below.
type Act string

// The acts, by place.
const (
	ActHealth      Act = "health.read"
	ActSetupClaim  Act = "setup.claim"
	ActResetUse    Act = "reset.use"
	ActSignIn      Act = "session.start"
	ActSignOut     Act = "session.end"
	ActWebhookIn   Act = "webhook.receive"
	ActAccountRead Act = "account.read"

	ActInboxRead      Act = "inbox.read"
	ActApprovalAnswer Act = "approval.answer"
	ActGrantRead      Act = "grant.read"
	ActGrantRevoke    Act = "grant.revoke"
	ActEffectRead     Act = "effect.read"
	ActEffectSettle   Act = "effect.settle"
	ActHeldDecide     Act = "held.decide"
	ActHaltSet        Act = "halt.set"
	ActHaltClear      Act = "halt.clear"

	ActChatRead      Act = "chat.read"
	ActMessageSend   Act = "message.send"
	ActRunRead       Act = "run.read"
	ActRunCancel     Act = "run.cancel"
	ActAgentRead     Act = "agent.read"
	ActAgentManage   Act = "agent.manage"
	ActSkillRead     Act = "skill.read"
	ActSkillManage   Act = "skill.manage"
	ActPromptWrite   Act = "prompt.write"
	ActModelRead     Act = "model.read"
	ActModelManage   Act = "model.manage"
	ActDocumentRead  Act = "document.read"
	ActDocumentWrite Act = "document.write"
	ActMemoryRead    Act = "memory.read"
	ActMemoryWrite   Act = "memory.write"

	ActWorkRead        Act = "work.read"
	ActWorkWrite       Act = "work.write"
	ActWorkspaceManage Act = "workspace.manage"
	ActWorkspaceToken  Act = "workspace.token"
	ActSignalManage    Act = "signal.manage"
	ActSignalPublish   Act = "signal.publish"

	ActJournalRead   Act = "journal.read"
	ActJournalUnpark Act = "journal.unpark"
	ActReplay        Act = "run.replay"
	ActAuditVerify   Act = "audit.verify"
	ActAuditSign     Act = "audit.checkpoint"
	ActAuditExport   Act = "audit.export"
	ActSubjectErase  Act = "subject.erase"
	ActPolicyRead    Act = "policy.read"
	ActPolicyWrite   Act = "policy.write"
	ActContactRead   Act = "contact.read"
	ActContactManage Act = "contact.manage"
	ActChannelRead   Act = "channel.read"
	ActChannelManage Act = "channel.manage"
	ActRoutingWrite  Act = "routing.write"
	ActPeopleRead    Act = "people.read"
	ActPeopleManage  Act = "people.manage"
	ActSelfRead      Act = "self.read"
	ActSelfWrite     Act = "self.write"
	ActCredentials   Act = "credential.manage"
	ActStepUp        Act = "session.verify"
	ActSessionRevoke Act = "session.revoke"
	ActTokenCreate   Act = "token.create"
	ActTokenRevoke   Act = "token.revoke"
	ActVaultRead     Act = "vault.read"
	ActVaultWrite    Act = "vault.write"
	ActMetricsRead   Act = "metrics.read"
	ActConfigRead    Act = "config.read"
	ActBackupRun     Act = "backup.run"
	ActServe         Act = "serve.run"
	ActRestore       Act = "restore.run"
	ActMigrate       Act = "migrate.run"
	ActPeopleRecover Act = "people.recover"
	ActToolRun       Act = "tool.run"
)

// Row is one line of the roles table.
type Row struct {
	Act Act
	// Roles that may do it. Empty for acts of Public and Machine.
	Roles []Role
	// Public acts need nobody signed in.
	Public bool
	// Machine acts are done with access to the data folder, never over HTTP.
	Machine bool
	// StepUp acts need a person who proved themselves in the last
	// StepUpWindow. An API token cannot, so it cannot do them at all.
	StepUp bool
	Doc    string // one sentence for docs/roles.md
}

func everybody() []Role { return []Role{Owner, Operator, Viewer} }
func running() []Role   { return []Role{Owner, Operator} }
func owners() []Role    { return []Role{Owner} }

// Rows returns the roles table: the only place that says who may do what.
func Rows() []Row {
	return []Row{
		{Act: ActHealth, Public: true, Doc: "Ask whether the process is alive and ready."},
		{Act: ActSetupClaim, Public: true, Doc: "Become the first owner with the one-time setup code."},
		{Act: ActResetUse, Public: true, Doc: "Set a way to sign in with a reset link."},
		{Act: ActSignIn, Public: true, Doc: "Try to sign in."},
		{Act: ActWebhookIn, Public: true, Doc: "Deliver to a channel that proves the sender by its own signature."},

		{Act: ActSignOut, Roles: everybody(), Doc: "End one's own session."},
		{Act: ActAccountRead, Roles: everybody(), Doc: "See the account and what exists in it."},
		{Act: ActInboxRead, Roles: everybody(), Doc: "See what waits for a person."},
		{Act: ActApprovalAnswer, Roles: running(), Doc: "Allow, edit or deny a call, and take an answer back."},
		{Act: ActGrantRead, Roles: everybody(), Doc: "See grants."},
		{Act: ActGrantRevoke, Roles: running(), Doc: "End a grant early."},
		{Act: ActEffectRead, Roles: everybody(), Doc: "See the effect ledger."},
		{Act: ActEffectSettle, Roles: running(), Doc: "Say what became of an effect whose outcome is unknown."},
		{Act: ActHeldDecide, Roles: running(), Doc: "Release or drop a held message."},
		{Act: ActHaltSet, Roles: everybody(), Doc: "Halt everything, a workspace or an agent."},
		{Act: ActHaltClear, Roles: running(), Doc: "Resume after a halt."},

		{Act: ActChatRead, Roles: everybody(), Doc: "Read threads and attachments."},
		{Act: ActMessageSend, Roles: running(), Doc: "Send a message into a channel or thread."},
		{Act: ActRunRead, Roles: everybody(), Doc: "See runs, their steps and their cost."},
		{Act: ActRunCancel, Roles: running(), Doc: "Cancel a run."},
		{Act: ActAgentRead, Roles: everybody(), Doc: "See resident agents."},
		{Act: ActAgentManage, Roles: owners(), Doc: "Change a resident agent."},
		{Act: ActSkillRead, Roles: everybody(), Doc: "See the skill catalogue and its manifests."},
		{Act: ActSkillManage, Roles: owners(), Doc: "Install, switch or update skills."},
		{Act: ActPromptWrite, Roles: owners(), Doc: "Add a new number of a prompt."},
		{Act: ActModelRead, Roles: everybody(), Doc: "See model roles, budgets and calls."},
		{Act: ActModelManage, Roles: owners(), Doc: "Change which model serves a role, and budgets."},
		{Act: ActDocumentRead, Roles: everybody(), Doc: "Read the account's documents."},
		{Act: ActDocumentWrite, Roles: running(), Doc: "Write the account's documents."},
		{Act: ActMemoryRead, Roles: everybody(), Doc: "Read memory."},
		{Act: ActMemoryWrite, Roles: running(), Doc: "Add to, correct or retract memory."},

		{Act: ActWorkRead, Roles: everybody(), Doc: "See workspaces, tasks and their threads."},
		{Act: ActWorkWrite, Roles: running(), Doc: "Make, change, move and answer tasks."},
		{Act: ActWorkspaceManage, Roles: running(), Doc: "Make, change and archive workspaces."},
		{Act: ActWorkspaceToken, Roles: running(), Doc: "Give a workspace a new token for its workers."},
		{Act: ActSignalManage, Roles: running(), Doc: "Make, change and remove signals and their triggers."},
		{Act: ActSignalPublish, Roles: running(), Doc: "Publish a signal."},

		{Act: ActJournalRead, Roles: everybody(), Doc: "Read the journal, its stream and its causes."},
		{Act: ActJournalUnpark, Roles: running(), Doc: "Let a parked stream go on."},
		{Act: ActReplay, Roles: everybody(), Doc: "Replay a recorded run; it acts on nothing."},
		{Act: ActAuditVerify, Roles: everybody(), Doc: "Verify the chain."},
		{Act: ActAuditSign, Roles: running(), Doc: "Sign a checkpoint of the chain."},
		{Act: ActAuditExport, Roles: owners(), Doc: "Export the journal or sealed segments of it."},
		{Act: ActSubjectErase, Roles: owners(), StepUp: true, Doc: "Destroy the data key of a subject."},
		{Act: ActPolicyRead, Roles: everybody(), Doc: "Read guardrails, rules and autonomy."},
		{Act: ActPolicyWrite, Roles: owners(), StepUp: true, Doc: "Publish guardrails, rules and autonomy."},
		{Act: ActContactRead, Roles: everybody(), Doc: "See contacts and how they were proven."},
		{Act: ActContactManage, Roles: running(), Doc: "Confirm, block or link contacts."},
		{Act: ActChannelRead, Roles: everybody(), Doc: "See channels and whether they are connected."},
		{Act: ActChannelManage, Roles: owners(), Doc: "Connect, change or remove a channel."},
		{Act: ActRoutingWrite, Roles: owners(), Doc: "Change which agent a message goes to."},

		{Act: ActPeopleRead, Roles: everybody(), Doc: "See the people and their roles."},
		{Act: ActPeopleManage, Roles: owners(), StepUp: true, Doc: "Make people, change them, send reset links, end their sessions and tokens."},
		{Act: ActSelfRead, Roles: everybody(), Doc: "See one's own name, sessions, passkeys and tokens."},
		{Act: ActSelfWrite, Roles: everybody(), Doc: "Change one's own name."},
		{Act: ActCredentials, Roles: everybody(), StepUp: true, Doc: "Change one's own password and passkeys."},
		{Act: ActStepUp, Roles: everybody(), Doc: "Prove oneself again inside a session."},
		{Act: ActSessionRevoke, Roles: everybody(), Doc: "End one's own other sessions."},
		{Act: ActTokenCreate, Roles: everybody(), StepUp: true, Doc: "Make an API token for oneself."},
		{Act: ActTokenRevoke, Roles: everybody(), Doc: "Revoke one's own API tokens."},
		{Act: ActVaultRead, Roles: owners(), Doc: "See the names of stored secrets, never their values."},
		{Act: ActVaultWrite, Roles: owners(), StepUp: true, Doc: "Store or delete a named secret."},
		{Act: ActMetricsRead, Roles: everybody(), Doc: "Read metrics."},
		{Act: ActConfigRead, Roles: owners(), Doc: "See the effective configuration, secrets masked."},
		{Act: ActBackupRun, Roles: owners(), Doc: "Make a backup, keys included."},

		{Act: ActServe, Machine: true, Doc: "Start the server or the demo."},
		{Act: ActRestore, Machine: true, Doc: "Restore a backup."},
		{Act: ActMigrate, Machine: true, Doc: "Bring the schema up to date."},
		{Act: ActPeopleRecover, Machine: true, Doc: "Make a person or a reset link without signing in."},
		{Act: ActToolRun, Machine: true, Doc: "Run a command that touches no account: version, completion, config check."},
	}
}
