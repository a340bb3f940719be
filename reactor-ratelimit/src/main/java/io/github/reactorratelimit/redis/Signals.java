package io.github.reactorratelimit.redis;

import java.util.Optional;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * What the processes that share one limiter tell each other, beside what stands in the keys. A hint, never the truth: a
 * signal may be lost, late or doubled, and every process hears its own.
 */
interface Signals {

    /** Tells nobody and hears nothing: others are noticed when a denial said to ask again. */
    Signals NONE = new Signals() {
        @Override
        public void publish(Kind kind, String subject) {}

        @Override
        public void listen(Listener listener) {}

        @Override
        public Mono<Void> close() {
            return Mono.empty();
        }
    };

    /** What happened; on the wire one character, followed by the escaped subject. */
    enum Kind {
        /** Permits of a key were freed or given back. */
        FREED('f'),
        /** The pause of a key changed. */
        PAUSED('p'),
        /** A key was reset. */
        RESET('r'),
        /** The policy has another epoch; the subject is its number. */
        EPOCH('e');

        private final char code;

        Kind(char code) {
            this.code = code;
        }

        String message(String subject) {
            return code + RedisKeys.escape(subject);
        }

        private static @Nullable Kind of(char code) {
            for (Kind kind : values()) {
                if (kind.code == code) {
                    return kind;
                }
            }
            return null;
        }
    }

    /** A kind and what it is about. */
    record Signal(Kind kind, String subject) {

        /** Empty for what is no signal: other versions, or strangers, may use the channel. */
        static Optional<Signal> parse(String message) {
            Kind kind = message.isEmpty() ? null : Kind.of(message.charAt(0));
            return kind == null
                    ? Optional.empty()
                    : RedisKeys.unescape(message.substring(1)).map(subject -> new Signal(kind, subject));
        }
    }

    /** Called on threads of the connection, by one at a time: must be quick, and must not block. */
    interface Listener {

        void heard(Kind kind, String subject);

        /** From here on signals arrive; before it, also after an interruption, any number may have been missed. */
        void reconnected();
    }

    /**
     * Tells all processes, this one too. Never blocks, never throws; what cannot be sent is lost. While a signal is under way
     * the same one is not sent beside it but once more after it, so a key costs at most one message per round trip.
     */
    void publish(Kind kind, String subject);

    /** Called once, before anything is published. */
    void listen(Listener listener);

    /** Hears nothing from here on. Any number of calls. */
    Mono<Void> close();
}
