package io.github.reactorratelimit.webflux;

import java.util.Objects;
import org.springframework.http.HttpStatus;
import org.springframework.http.HttpStatusCode;

/** What happens to a request that has no key. It never passes without being counted. */
public sealed interface MissingKey {

    /**
     * Denies it.
     *
     * @param status the status of the answer, 4xx or 5xx
     */
    record Deny(HttpStatusCode status) implements MissingKey {
        public Deny {
            if (!Objects.requireNonNull(status, "status").isError()) {
                throw new IllegalArgumentException("status must be 4xx or 5xx, was " + status.value());
            }
        }
    }

    /** Counts all such requests together, as if they came from one client. */
    record Shared() implements MissingKey {}

    /** Denies with 403 Forbidden. */
    static MissingKey deny() {
        return deny(HttpStatus.FORBIDDEN);
    }

    /**
     * Denies with a status of your choice.
     *
     * @throws IllegalArgumentException if it is not 4xx or 5xx
     */
    static MissingKey deny(HttpStatusCode status) {
        return new Deny(status);
    }

    /** One limit for all requests without a key: a flood of them takes it from all clients without a key. */
    static MissingKey shared() {
        return new Shared();
    }
}
