// Package llm is how Witan talks to language models, and how it stays in charge
// of what they cost, see and say.
//
// Purpose: the ports Model and Embedder; the parts of a wire that every provider
// shares (retry, timeouts, caps, redaction, server-sent events); roles mapped to
// providers with fallbacks; numbered prompts with typed data blocks; budgets that
// are reserved before a call; the record of each call and its replay.
//
// Invariants kept here:
//   - untrusted text never enters a system prompt (INV-11): Request.System is an
//     Instruction, which only a constant of the program or a rendered Prompt can be
//   - a secret never enters an error (INV-12): keys are checked before use without
//     being quoted, and every text of a provider is scrubbed of them
//   - the model never sets a number (INV-10): replies are text and tool calls,
//     counts come from the wire and are checked
//   - a recorded call replays to the same bytes (INV-13): everything that is
//     recorded holds text and integers only; JSON whose numbers are not ours
//     (schemas, tool arguments) is kept as text
//
// It imports kit and event. It never imports net/http: an adapter hands it a
// Doer. It starts no goroutine; its timers end with the call that set them.
// The adapters are llm/script, llm/openai, llm/anthropic and llm/bedrock.
package llm
