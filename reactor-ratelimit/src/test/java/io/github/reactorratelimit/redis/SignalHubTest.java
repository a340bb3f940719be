package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.api.async.BaseRedisAsyncCommands;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.IntegerOutput;
import io.lettuce.core.protocol.AsyncCommand;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Signals over connections that the test plays. */
class SignalHubTest {

    private final List<Throwable> failures = new ArrayList<>();
    private final List<Object> published = new ArrayList<>();

    @SuppressWarnings("unchecked")
    private final SignalHub hub = new SignalHub(
            played(BaseRedisAsyncCommands.class, (proxy, method, arguments) -> publish(arguments[1])),
            played(StatefulRedisPubSubConnection.class, (proxy, method, arguments) -> null));

    private static <T> T played(Class<T> type, InvocationHandler part) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, part));
    }

    private Object publish(Object message) throws Throwable {
        if (!failures.isEmpty()) {
            throw failures.remove(0);
        }
        published.add(message);
        return new AsyncCommand<>(new Command<>(CommandType.PUBLISH, new IntegerOutput<>(StringCodec.UTF8)));
    }

    static Stream<Throwable> failures() {
        return Stream.of(new IllegalArgumentException("broken"), new AssertionError("broken"));
    }

    @ParameterizedTest
    @MethodSource("failures")
    void signalThatCouldNotBeSentIsLostAndTheNextOfItsKindIsSent(Throwable failure) {
        Signals signals = hub.open("channel");
        failures.add(failure);
        signals.publish(Signals.Kind.FREED, "k");
        assertThat(published).isEmpty();
        assertThat(hub.lost()).isEqualTo(1);

        signals.publish(Signals.Kind.FREED, "k");

        assertThat(published).hasSize(1);
    }
}
