// Has the facts about the service that need no request: its methods, models, limits and
// words, and the names that evalrun's own emulator uses. Clients, suites and the emulator share it. Servers of this program
// take the names under which they reply from Hosts.

package wire

// Names in headers.
const (
	// DefaultHeaderPrefix begins the service's own headers: x-svc-api-key.
	DefaultHeaderPrefix = "x-svc"
	// TrialHeader names the trial of a request, for evalrun's own emulator. It is sent nowhere else.
	TrialHeader = "X-Evalrun-Trial"
	// EmulatorName is how evalrun's emulator calls itself in the Server header.
	EmulatorName = "evalrun-emulator"
)

// APIVersions are the versions of the service's interface, the default first.
var APIVersions = []string{"v1", "v1beta"}

// ImageTypes are the media types of images that the service takes.
var ImageTypes = []string{"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"}
