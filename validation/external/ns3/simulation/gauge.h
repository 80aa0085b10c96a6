// Queue and use of the bottleneck while the transfer is active.
#pragma once

#include "captures.h"
#include "transfer.h"

#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <sstream>
#include <string>

using namespace ns3;

class Gauge
{
  public:
    Gauge(Transfer& transfer,
          Ptr<QueueDisc> queue,
          Ptr<QueueDisc> reverse,
          Ptr<NetDevice> device,
          Ipv4Address watched)
        : m_transfer(transfer),
          m_queue(queue),
          m_reverse(reverse),
          m_device(DynamicCast<PointToPointNetDevice>(device)),
          m_watched(watched)
    {
        device->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Gauge::OnSent, this));
        queue->TraceConnectWithoutContext("Drop", MakeCallback(&Gauge::OnDrop, this));
        queue->TraceConnectWithoutContext("Mark", MakeCallback(&Gauge::OnMark, this));
        Simulator::Schedule(MilliSeconds(1), &Gauge::Tick, this);
    }

    std::string Report() const
    {
        std::ostringstream text;
        double ticks = std::max<double>(1, m_ticks);
        text << "\"ticks\":" << m_ticks << ",\"queued\":" << m_queued / ticks
             << ",\"reverse_queued\":" << m_reverseQueued / ticks
             << ",\"mean_queue_ms\":" << m_delay / ticks << ",\"capacity_bytes\":" << m_capacity
             << ",\"own_bytes\":" << m_own << ",\"other_bytes\":" << m_other
             << ",\"queue_drops\":" << m_drops << ",\"other_drops\":" << m_otherDrops
             << ",\"marks\":" << m_marks;
        return text.str();
    }

  private:
    void Tick()
    {
        if (m_transfer.IsActive())
        {
            m_transfer.Sample();
            DataRateValue rate;
            m_device->GetAttribute("DataRate", rate);
            double bytesPerSecond = rate.Get().GetBitRate() / 8.0;
            m_ticks++;
            m_capacity += bytesPerSecond / 1000;
            m_queued += m_queue->GetNPackets() >= 2;
            m_reverseQueued += m_reverse->GetNPackets() >= 2;
            m_delay += 1000.0 * m_queue->GetNBytes() / bytesPerSecond;
        }
        if (!m_transfer.IsOver())
        {
            Simulator::Schedule(MilliSeconds(1), &Gauge::Tick, this);
        }
        else if (!m_isEnding)
        {
            m_isEnding = true;
            Simulator::Stop(Seconds(1.5));
        }
    }

    void OnSent(Ptr<const Packet> packet)
    {
        if (m_transfer.IsActive())
        {
            (SourceOf(packet) == m_watched ? m_own : m_other) += packet->GetSize();
        }
    }

    bool IsOwn(Ptr<const QueueDiscItem> item) const
    {
        Ptr<const Ipv4QueueDiscItem> found = DynamicCast<const Ipv4QueueDiscItem>(item);
        return found && found->GetHeader().GetSource() == m_watched;
    }

    void OnDrop(Ptr<const QueueDiscItem> item)
    {
        (IsOwn(item) ? m_drops : m_otherDrops)++;
    }

    void OnMark(Ptr<const QueueDiscItem> item, const char*)
    {
        m_marks += IsOwn(item);
    }

    Transfer& m_transfer;
    Ptr<QueueDisc> m_queue;
    Ptr<QueueDisc> m_reverse;
    Ptr<PointToPointNetDevice> m_device;
    Ipv4Address m_watched;
    uint32_t m_ticks = 0;
    double m_queued = 0;
    double m_reverseQueued = 0;
    double m_delay = 0;
    double m_capacity = 0;
    uint64_t m_own = 0;
    uint64_t m_other = 0;
    uint32_t m_drops = 0;
    uint32_t m_otherDrops = 0;
    uint32_t m_marks = 0;
    bool m_isEnding = false;
};
