package io.github.reactorratelimit.benchmarks.local;

/** The cheapest error that tells one denial from another. */
final class StacklessException extends RuntimeException {

    private static final long serialVersionUID = 1;

    StacklessException() {
        super("denied", null, false, false);
    }
}
