package io.github.reactorratelimit.redis;

/** A process with a newer policy has been at the key: nothing ran. */
final class NewerEpochException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final long epoch;

    NewerEpochException(long epoch) {
        super("a policy of epoch " + epoch + " rules the key", null, false, false);
        this.epoch = epoch;
    }

    long epoch() {
        return epoch;
    }
}
