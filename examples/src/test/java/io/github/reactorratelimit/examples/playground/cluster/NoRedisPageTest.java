package io.github.reactorratelimit.examples.playground.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.examples.browser.Chromium;
import io.github.reactorratelimit.examples.browser.Page;
import io.github.reactorratelimit.examples.playground.Playground;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The tab of the cluster where there is no Redis that could be started. */
class NoRedisPageTest {

    @BeforeEach
    void hideRedis() {
        System.setProperty("redis.server", "/nowhere/redis-server");
    }

    @AfterEach
    void showRedis() {
        System.clearProperty("redis.server");
    }

    @Test
    void saysSoAndGoesOn() {
        try (Chromium browser = Chromium.start();
                Playground playground = Playground.start("reactor-ratelimit.enabled=false");
                Page page = browser.newPage()) {
            page.go(playground.url() + "/#cluster");
            page.until("the first frame", "window.cluster?.now() > 0");

            page.click("#cluster-start");
            page.until("it says why not", "!document.getElementById('cluster-problem').hidden");

            assertThat(page.text("#cluster-problem"))
                    .isEqualTo("-Dredis.server=/nowhere/redis-server is not an executable file");
            page.until("more frames", "cluster.now() > 500");
            assertThat(page.evaluate("document.getElementById('cluster-start').getAttribute('aria-disabled')")
                            .asString())
                    .isEqualTo("false");
        }
    }
}
