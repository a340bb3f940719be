package io.github.reactorratelimit.redis;

/** The key was given another policy of its own, or has none any more: nothing ran. */
final class NewerOwnException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final long number;

    NewerOwnException(long number) {
        super("change " + number + " of the key's own policy rules it", null, false, false);
        this.number = number;
    }

    /** Of the change that rules. */
    long number() {
        return number;
    }
}
