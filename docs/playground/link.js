// The state of the page in the fragment of its URL: JSON, compressed, in base64url. The server never sees it.

const throughStream = async (bytes, stream) =>
  new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());

export async function fragmentOf(state) {
  const bytes = await throughStream(new TextEncoder().encode(JSON.stringify(state)), new CompressionStream("deflate-raw"));
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return `#p=${btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

// Returns the state of a fragment, or null if it has none or is damaged.
export async function stateOf(fragment) {
  const code = /^#p=([\w-]+)$/.exec(fragment)?.[1];
  if (!code) return null;
  try {
    const bytes = Uint8Array.from(atob(code.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(await throughStream(bytes, new DecompressionStream("deflate-raw"))));
  } catch {
    return null;
  }
}
