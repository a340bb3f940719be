package io.github.reactorratelimit.redis;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** The policies that keys of a limiter were given, in Redis, where its processes find them. */
final class OwnRegistry {

    /** For more keys there are policies per key. */
    static final int MOST_KEYS = 1_000;

    /** How a change ended. */
    enum Outcome {
        DONE("d"),
        /** Not done: somebody else changed the key or the limiter's policy before. */
        BEHIND("s"),
        /** Not done: too many keys have one. */
        FULL("f");

        private final String code;

        Outcome(String code) {
            this.code = code;
        }

        private static Outcome of(Object code) {
            for (Outcome outcome : values()) {
                if (outcome.code.equals(code)) {
                    return outcome;
                }
            }
            throw new RedisReplyException("reply has no outcome of a change");
        }
    }

    /**
     * What is registered.
     *
     * @param known the version that was known when it was asked for: it had been there by then
     * @param version the number of the last change
     * @param records by key; null if the version is the one that was known
     */
    record Reading(
            Outcome outcome,
            long known,
            long version,
            @Nullable Map<String, OwnRecord> records) {}

    private final ScriptCaller caller;
    private final String[] keys;
    private final UnaryOperator<Mono<List<Object>>> calling;
    private final RedisScript script = RedisScript.ofOwnPolicies();

    /** @param calling what a call goes through, when it is made */
    OwnRegistry(ScriptCaller caller, RedisKeys keys, UnaryOperator<Mono<List<Object>>> calling) {
        this.caller = caller;
        this.keys = new String[] {keys.policies(), keys.ownPolicies(), keys.ownPolicies() + ":version"};
        this.calling = calling;
    }

    Mono<Reading> read(long known) {
        return call(known, Long.toString(known));
    }

    /**
     * Registers a change of a key.
     *
     * @param number that of the change before, 0 if there was none: if it is another by now nothing is changed
     * @param epoch that of the limiter's policy: if there is a newer one nothing is changed
     * @param written as {@link OwnRecord#format} makes it; empty if the key is to be left out
     */
    Mono<Reading> change(long known, String key, long number, long epoch, String written) {
        return call(
                known,
                Long.toString(known),
                RedisKeys.escape(key),
                Long.toString(number),
                Long.toString(epoch),
                Integer.toString(MOST_KEYS),
                written);
    }

    /** Lets what is registered of a key count although a change with this number, which is not registered, has reached it. */
    Mono<Reading> mend(long known, String key, long number) {
        return call(known, Long.toString(known), RedisKeys.escape(key), Long.toString(number));
    }

    private Mono<Reading> call(long known, String... arguments) {
        return Mono.defer(() -> calling.apply(caller.call(script, keys, arguments)))
                .map(reply -> parse(known, reply));
    }

    private static Reading parse(long known, List<Object> reply) {
        if (reply.size() < 2) {
            throw new RedisReplyException("reply has no version");
        }
        Outcome outcome = Outcome.of(reply.get(0));
        long version = ScriptReply.notNegative("version", reply.get(1));
        if (version == known) {
            return new Reading(outcome, known, version, null);
        }
        Map<String, OwnRecord> records = new HashMap<>();
        for (int i = 2; i + 1 < reply.size(); i += 2) {
            if (!(reply.get(i) instanceof String key) || !(reply.get(i + 1) instanceof String written)) {
                throw new RedisReplyException("reply has no string as policy");
            }
            RedisKeys.unescape(key).ifPresent(name -> records.put(name, OwnRecord.parse(written)));
        }
        return new Reading(outcome, known, version, records);
    }
}
