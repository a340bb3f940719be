package io.github.reactorratelimit.examples.playground.fragile;

import io.github.reactorratelimit.RateLimiterClosedException;
import io.github.reactorratelimit.examples.playground.Fields;
import io.github.reactorratelimit.examples.playground.fragile.Settings.Retries;
import io.github.reactorratelimit.examples.playground.fragile.Settings.Shape;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.test.StepVerifier;
import reactor.test.scheduler.VirtualTimeScheduler;

class ShapedClientTest {

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();

    @ParameterizedTest
    @EnumSource(Shape.class)
    void aCallThatComesWhenAllIsClosedEnds(Shape shape) {
        Map<String, Object> json = FragileApiTest.settings();
        json.put("shape", Fields.textOf(shape));
        Settings settings = Settings.of(json);
        ShapedClient client = new ShapedClient(settings.shaping(), time);
        FragileServer server = new FragileServer(settings, time, () -> {});

        client.close();

        StepVerifier.create(client.call(server, Retries.AGAIN)).verifyError(RateLimiterClosedException.class);
    }
}
