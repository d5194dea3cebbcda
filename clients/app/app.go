// Package app calls applications under test: HTTP endpoints, programs, and an echo of the prompt. One call is one
// attempt: retries, limits and deadlines are decorators in internal/flow.
//
// It bounds what it reads, follows no redirect, and keeps secrets out of every error. Whatever can go wrong comes back as one
// *eval.Error.
package app
