class Evalrun < Formula
  desc "Tests prompts: scores the answers of models and gates on their quality"
  homepage "https://github.com/evalrun/evalrun"
  version "{{.Number}}"
  license "Apache-2.0"
{{range $system, $name := .Homebrew}}
  on_{{$name}} do
    {{- range $.Archives}}{{if eq .System $system}}
    on_{{if eq .Architecture "arm64"}}arm{{else}}intel{{end}} do
      url "https://github.com/evalrun/evalrun/releases/download/{{$.Version}}/{{.Name}}"
      sha256 "{{.Digest}}"
    end
    {{- end}}{{end}}
  end
{{end}}
  def install
    bin.install "evalrun"
    man1.install Dir["man/man1/*.1"]
    bash_completion.install "completions/evalrun.bash" => "evalrun"
    zsh_completion.install "completions/_evalrun"
    fish_completion.install "completions/evalrun.fish"
  end

  test do
    assert_match "{{.Version}}", shell_output("#{bin}/evalrun version")
  end
end
