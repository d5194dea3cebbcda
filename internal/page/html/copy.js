// Buttons that copy a text as it came.

// copyText reports whether the text is on the clipboard. Pages of another machine that come unencrypted have no clipboard of their own;
// there the browser copies what is selected.
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(text);
  }
}

function copySelected(text) {
  const field = h('textarea', {class: 'unseen', 'aria-label': 'Text to copy'}), focus = document.activeElement;
  field.value = text;
  document.body.append(field);
  field.select();
  const done = document.execCommand('copy');
  field.remove();
  if (focus) focus.focus({preventScroll: true});
  return done;
}

const copiedFor = 2000; // milliseconds

// copyButton copies what `text` gives when it is pressed. `cut` says that the page has only the beginning.
function copyButton(what, text, cut) {
  const label = 'Copy ' + what, button = h('button', {type: 'button', class: 'copy'}, label);
  let reset;
  button.addEventListener('click', async () => {
    const done = await copyText(text());
    const words = !done ? 'Not copied: the browser refuses' : cut ? 'Copied the part that is here' : 'Copied';
    button.textContent = words;
    button.classList.toggle('done', done);
    say(done ? `${words}: ${what}.` : words + '.');
    clearTimeout(reset);
    reset = setTimeout(() => { button.textContent = label; button.classList.remove('done'); }, copiedFor);
  });
  return button;
}

// promptText is a prompt as one text: of one message the text alone, of several each under its role.
function promptText({system, contents}) {
  const messages = (contents || []).map(c => [c.role || 'text', (c.parts || []).map(partText).filter(Boolean).join('\n')]);
  if (system) messages.unshift(['system', system]);
  return messages.length === 1 ? messages[0][1] : messages.map(([role, text]) => `${role}:\n${text}`).join('\n\n');
}

function partText(p) {
  if (p.image) return `[image ${p.image.path}]`;
  if (p.data) return `[file ${p.data.path}]`;
  if (p.result) return p.result.text;
  return p.raw === undefined ? p.text : JSON.stringify(p.raw);
}

const isCut = ({contents}) => (contents || []).some(c => (c.parts || []).some(p => p.withheld));

// copyTrial are the buttons for what a trial sent, and what it is called.
function copyTrial(t) {
  return [
    t.request && copyButton('request as JSON', () => JSON.stringify(t.request, null, 2), isCut(t.request)),
    copyButton('trial id', () => t.id),
  ];
}
