package io.github.reactorratelimit.examples.browser;

import io.github.reactorratelimit.testing.Await;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.StreamSupport;
import tools.jackson.databind.JsonNode;

/** One page of a browser, as a person would use it. */
public final class Page implements AutoCloseable {

    private static final Set<String> ROLES_WITH_NAMES = Set.of(
            "button",
            "tab",
            "textbox",
            "combobox",
            "slider",
            "spinbutton",
            "radio",
            "radiogroup",
            "image",
            "img",
            "table",
            "tabpanel",
            "link",
            "group",
            "form",
            "region");

    private final DevTools devTools;
    private final String target;
    private final String session;
    private final List<String> complaints = new CopyOnWriteArrayList<>();

    private Page(DevTools devTools, String target, String session) {
        this.devTools = devTools;
        this.target = target;
        this.session = session;
        devTools.listen(this::hear);
    }

    static Page open(DevTools devTools) {
        String target = devTools.call(null, "Target.createTarget", Map.of("url", "about:blank"))
                .get("targetId")
                .asString();
        String session = devTools.call(null, "Target.attachToTarget", Map.of("targetId", target, "flatten", true))
                .get("sessionId")
                .asString();
        Page page = new Page(devTools, target, session);
        for (String domain : List.of("Runtime", "Log", "Page", "Accessibility")) {
            page.call(domain + ".enable", Map.of());
        }
        return page;
    }

    private JsonNode call(String method, Map<String, ?> parameters) {
        return devTools.call(session, method, parameters);
    }

    private void hear(String method, JsonNode message) {
        if (!session.equals(message.path("sessionId").asString(""))) {
            return;
        }
        JsonNode said = message.path("params");
        boolean bad = switch (method) {
            case "Runtime.exceptionThrown" -> true;
            case "Runtime.consoleAPICalled" ->
                Set.of("error", "warning", "assert").contains(said.path("type").asString());
            case "Log.entryAdded" ->
                "error".equals(said.path("entry").path("level").asString());
            default -> false;
        };
        if (bad) {
            complaints.add(said.toString());
        }
    }

    /** Errors and warnings in the console, and exceptions that nobody caught, so far. */
    public List<String> complaints() {
        return List.copyOf(complaints);
    }

    /** Goes to an address; returns when the document has come. */
    public void go(String url) {
        call("Page.navigate", Map.of("url", url));
        until("document of " + url, "location.href.startsWith('" + url + "') && document.readyState === 'complete'");
    }

    /** The value of an expression, awaited if it is a promise. */
    public JsonNode evaluate(String expression) {
        JsonNode result =
                call("Runtime.evaluate", Map.of("expression", expression, "returnByValue", true, "awaitPromise", true));
        if (result.has("exceptionDetails")) {
            throw new AssertionError(expression + ": " + result.get("exceptionDetails"));
        }
        return result.path("result").path("value");
    }

    /** The text of an element. */
    public String text(String selector) {
        return evaluate("document.querySelector('" + selector + "').textContent")
                .asString();
    }

    /** Waits until an expression is true. */
    public void until(String what, String expression) {
        Await.until(
                what + ", which is: " + expression,
                () -> evaluate("Boolean(" + expression + ")").asBoolean());
    }

    /** Clicks into the middle of an element with the mouse. */
    public void click(String selector) {
        JsonNode at = evaluate("(() => { const e = document.querySelector('" + selector
                + "'); e.scrollIntoView({ block: 'center', behavior: 'instant' }); const r = e.getBoundingClientRect();"
                + " return { x: r.x + r.width / 2, y: r.y + r.height / 2 }; })()");
        for (String type : List.of("mousePressed", "mouseReleased")) {
            call(
                    "Input.dispatchMouseEvent",
                    Map.of(
                            "type",
                            type,
                            "x",
                            at.get("x").asDouble(),
                            "y",
                            at.get("y").asDouble(),
                            "button",
                            "left",
                            "clickCount",
                            1));
        }
    }

    /** Presses a key where the focus is, such as {@code ArrowRight}. */
    public void press(String key, int keyCode) {
        for (String type : List.of("keyDown", "keyUp")) {
            call(
                    "Input.dispatchKeyEvent",
                    Map.of("type", type, "key", key, "code", key, "windowsVirtualKeyCode", keyCode));
        }
    }

    /** Sets the first control of that name and tells the page, as a hand would. */
    public void set(String name, Object value) {
        set("", name, value);
    }

    /** Sets a control within an element, such as a form, and tells the page, as a hand would. */
    public void set(String within, String name, Object value) {
        evaluate("""
                (() => {
                  const named = [...document.querySelectorAll('%s [name="%s"]')];
                  const one = named.find((each) => each.type === 'radio' && each.value === '%s') ?? named[0];
                  if (one.type === 'radio') one.checked = true;
                  else one.value = '%s';
                  one.dispatchEvent(new Event('input', { bubbles: true }));
                })()""".formatted(within, name, value, value));
    }

    /** A window of that size, of a phone if it is narrow, and light or dark as the person likes it. */
    public void look(int width, int height, String scheme) {
        call(
                "Emulation.setDeviceMetricsOverride",
                Map.of("width", width, "height", height, "deviceScaleFactor", 1, "mobile", width < 600));
        call(
                "Emulation.setEmulatedMedia",
                Map.of("features", List.of(Map.of("name", "prefers-color-scheme", "value", scheme))));
    }

    /** How much of a canvas is drawn in a colour, in pixels: a variable of the style sheet such as {@code --left}, or any colour of CSS. */
    public int ink(String canvas, String colour) {
        return evaluate("""
                (() => {
                  const canvas = document.querySelector('%s');
                  const named = '%s';
                  const probe = new OffscreenCanvas(1, 1).getContext('2d');
                  probe.fillStyle = named.startsWith('--') ? getComputedStyle(document.documentElement).getPropertyValue(named).trim() : named;
                  probe.fillRect(0, 0, 1, 1);
                  const wanted = probe.getImageData(0, 0, 1, 1).data;
                  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
                  let pixels = 0;
                  for (let i = 0; i < data.length; i += 4) {
                    if (data[i + 3] >= 100 && [0, 1, 2].every((part) => Math.abs(data[i + part] - wanted[part]) <= 6)) pixels++;
                  }
                  return pixels;
                })()""".formatted(canvas, colour)).asInt();
    }

    /** What a screen reader meets that needs a name and has none. */
    public List<String> nameless() {
        JsonNode nodes = call("Accessibility.getFullAXTree", Map.of()).get("nodes");
        return StreamSupport.stream(nodes.spliterator(), false)
                .filter(node -> !node.path("ignored").asBoolean())
                .filter(node -> ROLES_WITH_NAMES.contains(
                        node.path("role").path("value").asString("")))
                .filter(node -> node.path("name").path("value").asString("").isBlank())
                .map(JsonNode::toString)
                .toList();
    }

    /** A picture of the whole page, in {@code target/screenshots}. */
    public void screenshot(String name) {
        String png = call("Page.captureScreenshot", Map.of("captureBeyondViewport", true))
                .get("data")
                .asString();
        try {
            Path directory = Files.createDirectories(Path.of("target", "screenshots"));
            Files.write(directory.resolve(name + ".png"), Base64.getDecoder().decode(png));
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    @Override
    public void close() {
        devTools.call(null, "Target.closeTarget", Map.of("targetId", target));
    }
}
