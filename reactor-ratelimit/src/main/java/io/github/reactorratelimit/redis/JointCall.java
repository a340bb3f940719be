package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterState.KeyRequest;
import io.lettuce.core.cluster.SlotHash;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Stream;
import reactor.core.publisher.Mono;

/** Takes of several keys in one script call. Refunds and waits go to each limiter by itself. */
final class JointCall {

    /** One take and what the script needs to know for it. */
    private record Part(RedisState state, KeyRequest take, Ruling ruling) {

        static Part of(KeyRequest take) {
            RedisState state = (RedisState) take.state();
            return new Part(state, take, state.calls().ruling(state.named(take.override())));
        }

        List<String> keyNames(boolean reserves) {
            List<String> names = ruling.keyNames();
            boolean same = ruling.script().reserves() == reserves;
            return state.calls().keys().listOf(take.key(), same ? names : ruling.keyNamesWithSlots());
        }
    }

    private final List<Part> parts;
    private final RedisScript script;
    private final String[] keys;

    private JointCall(List<Part> parts, RedisScript script, String[] keys) {
        this.parts = parts;
        this.script = script;
        this.keys = keys;
    }

    /** Empty if they cannot share a call: they are in other places, or one of them must not be asked. */
    static Optional<JointCall> of(List<KeyRequest> takes) {
        if (takes.size() > ScriptArguments.MAX_ASKS
                || !takes.stream()
                        .allMatch(take ->
                                take.state() instanceof RedisState state && state.mayBeAskedTogether(take.key()))) {
            return Optional.empty();
        }
        List<Part> parts = takes.stream().map(Part::of).toList();
        ScriptCaller caller = parts.get(0).state().calls().caller();
        boolean askable = parts.stream()
                .allMatch(part -> part.state().calls().caller().sharesConnectionWith(caller)
                        && part.ruling().before() == null
                        && part.take().permits()
                                <= part.ruling().policy().policy().capacity());
        if (!askable) {
            return Optional.empty();
        }
        RedisScript script = RedisScript.joint(parts.stream()
                .flatMap(part -> part.ruling().policy().algorithms())
                .toList());
        List<String> keys = parts.stream()
                .flatMap(part -> part.keyNames(script.reserves()).stream())
                .toList();
        boolean distinct = new HashSet<>(keys).size() == keys.size();
        boolean reachable = !caller.isOnCluster() || slots(keys) == 1;
        return distinct && reachable
                ? Optional.of(new JointCall(parts, script, keys.toArray(String[]::new)))
                : Optional.empty();
    }

    private static long slots(List<String> keys) {
        return keys.stream().mapToInt(SlotHash::getSlot).distinct().count();
    }

    /** The decisions up to the first denial; answered on a thread of the connection. */
    Mono<List<Decision>> send() {
        List<Consumer<Decision>> learning = parts.stream()
                .map(part -> part.state()
                        .shortcuts()
                        .learning(
                                part.take().key(),
                                part.state().named(part.take().override())))
                .toList();
        parts.forEach(part ->
                part.state().calls().epochs().readNowAndThen(part.state().now()));
        return parts.get(0)
                .state()
                .calls()
                .caller()
                .callAbout(script, keys, this::arguments)
                .map(this::decisions)
                .doOnNext(decisions -> learn(learning, decisions))
                .doOnNext(done -> breakers().forEach(Breaker::succeeded))
                .doOnError(error -> parts.forEach(part -> part.state()
                        .calls()
                        .breaker()
                        .failed(error, part.state().now())));
    }

    /** Gives back what was taken for somebody who has left. */
    static void giveBackUnused(List<KeyRequest> takes, List<Decision> unused) {
        for (int i = 0; i < unused.size(); i++) {
            ((RedisState) takes.get(i).state()).giveBackUnused(unused.get(i));
        }
    }

    /** Where one is denied, those before it took nothing: nothing changed for their keys. */
    private static void learn(List<Consumer<Decision>> learning, List<Decision> decisions) {
        int last = decisions.size() - 1;
        for (int i = decisions.get(last).allowed() ? 0 : last; i <= last; i++) {
            learning.get(i).accept(decisions.get(i));
        }
    }

    private Stream<Breaker> breakers() {
        return parts.stream().map(part -> part.state().calls().breaker());
    }

    private String[] arguments(long aboutMicros) {
        List<String> arguments = new ArrayList<>();
        arguments.add("");
        for (Part part : parts) {
            arguments.add(Long.toString(part.take().permits()));
            arguments.add(Long.toString(part.ruling().epoch()));
            part.ruling().policy().appendTo(arguments, aboutMicros);
        }
        return arguments.toArray(String[]::new);
    }

    private List<Decision> decisions(List<Object> reply) {
        List<Answered> answers = ScriptReply.parseJoint(
                reply,
                parts.stream().map(part -> Ask.take(part.take().permits())).toList(),
                parts.stream().map(part -> part.ruling().policy()).toList());
        List<Decision> decisions = new ArrayList<>();
        for (int i = 0; i < answers.size(); i++) {
            RedisState state = parts.get(i).state();
            KeyRequest take = parts.get(i).take();
            Ask ask = Ask.take(take.permits());
            decisions.add(RedisCalls.decision(state, take.key(), ask, answers.get(i)));
        }
        boolean denied = !decisions.get(decisions.size() - 1).allowed();
        if (denied) {
            decisions.forEach(decision -> decision.debit().ifPresent(Debit::claim));
        }
        return List.copyOf(decisions);
    }
}
