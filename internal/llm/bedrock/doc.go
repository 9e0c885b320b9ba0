// Package bedrock speaks Amazon Bedrock's Converse and ConverseStream with a
// SigV4 signer and a decoder of application/vnd.amazon.eventstream of its own.
//
// Source: AWS's public documentation: "Amazon Bedrock API Reference" (Converse,
// ConverseStream), "Signature Version 4 signing process" with its test suite, and
// the event stream encoding. Unknown events and fields are passed over.
//
// It imports kit and llm only and starts no goroutine.
package bedrock
