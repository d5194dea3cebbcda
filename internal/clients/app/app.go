// Package app calls applications under test: HTTP endpoints, programs, and an echo of the prompt. One call
// is one attempt: retries, limits and deadlines are decorators in internal/flow.
//
// It bounds what it reads, follows no redirect, and masks secrets in every error. All failures are of type
// *eval.Error.
package app
