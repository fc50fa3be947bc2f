import com.google.common.util.concurrent.RateLimiter;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.ConcurrentHistogram;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;

/**
 * A loop around Pulsar's Java client, as pulsar-perf has it: asynchronous sends at a rate, with the settings that are its
 * defaults. It stands for pulsar-perf, of which no complete version of Pulsar 3.0 is in Maven Central.
 * It prints messages a second, and the median from send to receipt in microseconds.
 */
public final class PulsarLoop {
    public static void main(String[] args) throws Exception {
        String url = args[0], topic = args[1];
        int records = Integer.parseInt(args[2]), rate = Integer.parseInt(args[3]), size = Integer.parseInt(args[4]);
        byte[] value = new byte[size];
        for (int i = 0; i < size; i++) {
            value[i] = (byte) ('A' + i % 26);
        }
        ConcurrentHistogram latency = new ConcurrentHistogram(TimeUnit.SECONDS.toMicros(120), 3);
        Semaphore answered = new Semaphore(0);
        try (PulsarClient client = PulsarClient.builder().serviceUrl(url).statsInterval(0, TimeUnit.SECONDS).build();
                Producer<byte[]> producer = client.newProducer().topic(topic).enableBatching(true)
                        .batchingMaxPublishDelay(1, TimeUnit.MILLISECONDS).batchingMaxMessages(1000).batchingMaxBytes(131072)
                        .maxPendingMessages(1000).blockIfQueueFull(true).create()) {
            RateLimiter limiter = rate > 0 ? RateLimiter.create(rate) : null;
            long began = System.nanoTime();
            for (int i = 0; i < records; i++) {
                if (limiter != null) {
                    limiter.acquire();
                }
                long sent = System.nanoTime();
                producer.sendAsync(value).whenComplete((id, error) -> {
                    if (error == null) {
                        latency.recordValue((System.nanoTime() - sent) / 1000);
                    }
                    answered.release();
                });
            }
            answered.acquire(records);
            double seconds = (System.nanoTime() - began) / 1e9;
            System.out.printf("%.1f %d%n", latency.getTotalCount() / seconds, latency.getValueAtPercentile(50));
        }
    }
}
