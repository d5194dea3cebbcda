// Finds out which of several arms is the best. A Race does so while their cases are sent. It reads no
// files and knows nothing of suites: scores go in, numbers come out.

package compare
