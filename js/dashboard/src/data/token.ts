/** The token that a server demands: from the address once, then in this tab's storage, never in the address bar. */

const KEY = "amdgpu.token";

/** Takes `?token=` out of the address, and returns it or the one that was kept. */
export function takeToken(): string | null {
  const address = new URL(location.href);
  const given = address.searchParams.get("token");
  if (given !== null && given !== "") {
    keepToken(given);
    address.searchParams.delete("token");
    history.replaceState(null, "", address);
    return given;
  }
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null;
  }
}

export function keepToken(token: string): void {
  try {
    sessionStorage.setItem(KEY, token);
  } catch {
    // Without storage the token lasts until the page is loaded again.
  }
}

export function forgetToken(): void {
  try {
    sessionStorage.removeItem(KEY);
  } catch {
    // There was nothing kept.
  }
}
