package io.github.reactorratelimit.hotkeys;

/**
 * A key that was used or denied often.
 *
 * @param hash {@link HotKeys#hashOf} of the key
 * @param atLeast permits that were counted for it and for no other
 * @param atMost permits that may have been its own
 */
public record HotKey(String hash, long atLeast, long atMost) {}
