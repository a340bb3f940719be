package io.github.reactorratelimit.redis;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import reactor.core.publisher.Mono;

/** The asks under one policy: a pipe for each key that is asked for right now, and nothing for the others. */
final class PolicyPipes {

    private final Ruling ruling;
    private final List<String> keyNames;
    private final RedisKeys keys;
    private final ScriptCaller caller;
    private final int maxAsks;
    private final Map<String, KeyPipe> pipes = new ConcurrentHashMap<>();

    PolicyPipes(Ruling ruling, RedisKeys keys, ScriptCaller caller, boolean coalesce) {
        this.ruling = ruling;
        this.keyNames = ruling.keyNames();
        this.keys = keys;
        this.caller = caller;
        this.maxAsks = coalesce ? ScriptArguments.MAX_ASKS : 1;
    }

    PolicyArguments policy() {
        return ruling.policy();
    }

    Ruling ruling() {
        return ruling;
    }

    int maxAsks() {
        return maxAsks;
    }

    /** Answered on a thread of the connection. */
    Mono<KeyPipe.Answered> ask(String key, Ask ask) {
        return MonoOnce.asking(reply -> {
            for (; ; ) {
                KeyPipe pipe = pipes.computeIfAbsent(key, name -> new KeyPipe(this, name));
                if (pipe.add(ask, reply)) {
                    return;
                }
                pipes.remove(key, pipe);
            }
        });
    }

    Mono<ScriptReply> call(String key, List<Ask> asks) {
        return caller.call(ruling, keys.of(key, keyNames), asks);
    }

    void remove(String key, KeyPipe pipe) {
        pipes.remove(key, pipe);
    }
}
