// Package anthropic speaks the Anthropic Messages API with streaming.
//
// Source: Anthropic's public API reference, "Messages", "Streaming messages",
// "Errors" and "Structured outputs", version 2023-06-01. Unknown events, blocks,
// deltas and fields are passed over, as the versioning policy asks of clients.
//
// It imports kit and llm only and starts no goroutine.
package anthropic
