package api

import "context"

type localKey struct{}

// WithLocal marks the context of connections that came over the socket in the
// data folder: whoever may open that file acts as the account's owner. The
// server's ConnContext calls it, and nothing else may.
func WithLocal(ctx context.Context) context.Context {
	return context.WithValue(ctx, localKey{}, true)
}

func isLocal(ctx context.Context) bool {
	local, _ := ctx.Value(localKey{}).(bool)
	return local
}
