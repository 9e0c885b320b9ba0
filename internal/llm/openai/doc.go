// Package openai speaks the Chat Completions and Embeddings APIs, which OpenAI,
// Ollama, vLLM, llama.cpp, OpenRouter and many others serve under a base URL.
//
// Source: OpenAI's public API reference, "Chat Completions" and "Embeddings", and
// what the compatible servers document to differ. Unknown fields are ignored;
// known deviations (calls without id or index, arguments as an object, "stop"
// where calls were made, no [DONE], no usage, a whole reply where a stream was
// asked for, an error inside a stream) are accepted by name, each with a test.
//
// It imports kit and llm only and starts no goroutine.
package openai
