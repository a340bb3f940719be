package io.github.reactorratelimit.examples.playground;

import java.util.Arrays;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.support.GenericApplicationContext;
import reactor.core.scheduler.Scheduler;
import reactor.test.scheduler.VirtualTimeScheduler;

/** The playground as it is started by a person, but on any port, and if wanted in virtual time. */
public final class Playground implements AutoCloseable {

    private final ConfigurableApplicationContext context;

    private Playground(ConfigurableApplicationContext context) {
        this.context = context;
    }

    /** In real time. */
    public static Playground start(String... properties) {
        return new Playground(builder().run(arguments(properties)));
    }

    /** Its simulations move when the test moves the time. */
    public static Playground start(VirtualTimeScheduler time, String... properties) {
        return new Playground(builder()
                .initializers((GenericApplicationContext application) -> application.registerBean(
                        "virtualTime", Scheduler.class, () -> time, definition -> definition.setPrimary(true)))
                .run(arguments(properties)));
    }

    private static SpringApplicationBuilder builder() {
        return new SpringApplicationBuilder(PlaygroundApplication.class).properties("server.port=0");
    }

    /** As arguments they come before those of the application's own file. */
    private static String[] arguments(String... properties) {
        return Arrays.stream(properties).map(property -> "--" + property).toArray(String[]::new);
    }

    /** Where it is. */
    public String url() {
        return "http://127.0.0.1:" + context.getEnvironment().getProperty("local.server.port");
    }

    /** One of its beans. */
    public <T> T bean(Class<T> type) {
        return context.getBean(type);
    }

    @Override
    public void close() {
        context.close();
    }
}
