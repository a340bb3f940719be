package io.github.reactorratelimit.hotkeys;

/**
 * A hot key, or one that is denied often.
 *
 * @param hash {@link HotKeys#hashOf} of the key
 * @param atLeast a lower bound of its permits
 * @param atMost an upper bound of its permits
 */
public record HotKey(String hash, long atLeast, long atMost) {}
