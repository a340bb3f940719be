package io.github.reactorratelimit.redis;

/** A slot was asked for, but the policy that rules by now has none. Nothing was sent. */
final class NoSlotsException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    NoSlotsException() {
        super("the policy has no slots", null, false, false);
    }
}
